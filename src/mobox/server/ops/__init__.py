"""Operations: processes of a server, health and metrics."""
