"""One function = one commit. Composed of table functions and rules; synchronous, so no await can get into a commit."""
