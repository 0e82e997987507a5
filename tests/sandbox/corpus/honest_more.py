"""More honest programs: short ones, of every kind."""

MORE = r'''
def f(x): return x
> f(1) == 1
'''
