"""Figures as SVG: pure functions, nothing in them that was not escaped."""
