"""One page of HTML about training runs."""
