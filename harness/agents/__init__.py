"""Agent programs as readers: a program of somebody else's does the jobs, with a memory and without one."""
