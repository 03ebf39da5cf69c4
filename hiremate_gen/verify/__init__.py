"""Run what was generated against eager: equal bit for bit, and as much memory as was promised."""
