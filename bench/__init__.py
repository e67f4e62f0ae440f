"""Mobox measured beside its peers, as ratios: `make bench`. docs/performance.md says how."""
