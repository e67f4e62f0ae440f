"""Mobox in a program of yours. docs/library.md tells how."""
