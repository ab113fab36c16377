"""What a curious coordinator can find out from what it received in a run: ``pansvm run --audit``.

A cut is a sum Σ c y f over the mapped rows f of all sites, a curvature Σ v f f^T; its last line, which belongs to the
bias, is Σ v f. The coordinator does not know c and v, but it can subtract sums from one another, and where all rows but
one fall out, that row is left. To find out whether that has happened takes the truth, which only a simulation has:
every question of the run is put to every site again, in this process, for the factors c y and v instead of the sums.

Sums by different feature maps are about different f and cannot be combined. Those that are about the rows x themselves
can, whatever the map: of two subsets of the features, what they have in common is left. So can all cuts with a linear
kernel, of which f is a linear map of x. With a protocol that protects nothing the coordinator has the sums of each
site by itself.

One file a phase says which rows are in which of its sums. A task that no file examines is named, and never counts as 0.
"""
