"""Deliveries: send a formatter's documents to a frontend. Any delivery works with any format."""
