"""The sections of the report: one file a section, which appears where the figures are that it shows."""
