"""Charts as data: what each shows is built here from the numbers of reports, and drawn as SVG by one renderer."""
