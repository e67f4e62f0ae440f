"""Deliveries: how a formatter's documents reach a frontend. Any delivery carries any format."""
