"""An agent of a framework in three lines: a module per framework.

    from shared.frameworks.langchain import run
    run(graph)

Each has `run` (a whole process agent), `stream` (its native events for one turn) and `messages`
(the conversation in native objects). They import their SDK when they are used, not before.
"""
