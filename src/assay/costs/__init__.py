"""Money, counted in one place: prices, what was spent, budgets, estimates."""
