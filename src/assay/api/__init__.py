"""What scripts, notebooks and the command line call."""
