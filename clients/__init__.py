"""What runs inside a hospital: the ClientApp, the reading of the site's table, the local work of each phase."""
