"""The checks, one module for each section of the contract; each module lists its own in ``CHECKS``."""
