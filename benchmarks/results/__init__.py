"""Figures that were measured once, as data, each with its date and machine: they age, so no document repeats them."""
