"""Providers to test with, conformant and faulty; this package imports none of them until asked."""
