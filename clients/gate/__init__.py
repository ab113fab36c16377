"""All that stands between a request and the rows: who is answered, what is refused, and how an answer leaves."""
