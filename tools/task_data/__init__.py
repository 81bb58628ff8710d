"""How the bundled tasks are made: their rows, their leaderboards, their sources' record.

Build-time only: nothing of this is installed with the package.
"""
