"""What an agent may import without installing anything."""
