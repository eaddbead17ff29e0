"""Hypothesis strategies for what vendors answer; this package imports no vendor and no strategy until asked."""
