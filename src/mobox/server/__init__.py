"""Mobox over HTTP."""
