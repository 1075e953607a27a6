"""The variables of a namespace as a stream, and back (docs/snapshots.md, Format). Nothing of it is imported before it is asked for."""
