"""What edited functions do with inputs."""


def behave(judge, candidates, wall):
    raise Refused("not found out")
