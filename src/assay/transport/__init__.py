"""HTTP, spoken in one place: models and evaluators send through it."""
