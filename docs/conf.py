"""Sphinx: these pages as a site. ``sphinx-build -W docs docs/_build``."""

from importlib.metadata import version as _version

project = "knowledge-provider-kit"
author = "The authors of knowledge-provider-kit"
copyright = author
version = release = _version("knowledge-provider-kit")

extensions = ["myst_parser"]
exclude_patterns = ["_build"]
nitpicky = True

# Headings get the anchors that they have where the files are read without Sphinx.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

html_theme = "furo"
html_title = f"{project} {release}"
html_copy_source = False
html_show_sourcelink = False
