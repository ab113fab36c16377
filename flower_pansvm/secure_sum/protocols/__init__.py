"""The protocols that hide a single site's vector, one file each."""
