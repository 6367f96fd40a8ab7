"""Not of all unit tests: who imports it is played again for every change of a formula."""

from tests.support.computed import results as results
