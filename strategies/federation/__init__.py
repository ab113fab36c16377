"""A strategy's interface to the sites: messages, checks of sums, checkpoint and costs."""
