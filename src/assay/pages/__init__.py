"""One document model laid out for terminal, Markdown and HTML, and its charts. No arithmetic."""
