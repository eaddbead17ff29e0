"""Scripted vendors to test adapters with; this package imports none of them until asked."""
