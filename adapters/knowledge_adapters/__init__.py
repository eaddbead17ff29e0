"""Reference adapters, one file per system, each made to be copied alone; this package imports none of them."""
