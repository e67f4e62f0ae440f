"""The run routes: a run's events, its state and the inspector."""
