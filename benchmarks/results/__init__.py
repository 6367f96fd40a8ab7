"""Figures that were measured once, as data, each with the date and the machine: they age, so no document repeats them."""
