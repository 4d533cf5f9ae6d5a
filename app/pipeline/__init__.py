"""When to scrape, whom, and what to do when it fails. Imported by the composition root only."""
