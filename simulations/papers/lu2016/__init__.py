"""Y. Lu, Privacy Preserving Data Mining for Horizontally Distributed Medical Data Analysis, Georgia State 2016."""
