"""The AG-UI routes, and CopilotKit's envelope around them."""
