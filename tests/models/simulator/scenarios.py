"""A script with every step and every fault, for the tests of all wire formats."""

from __future__ import annotations

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)
SCENARIOS = f"""
scenarios:
  text:
    - - text: It is 21 degrees in Lisbon.
  think:
    - - think: The person wants the weather.
      - text: It is warm.
  tool:
    - - text: I will look.
      - tool: {{name: get_weather, input: {{city: Lisbon, days: 2}}}}
      - tool: {{name: get_weather, input: {{city: Porto, days: 1}}, id: call_porto}}
    - - text: Both are warm.
  cite:
    - - text: "Lisbon is warm. "
      - cite:
          text: It has 21 degrees.
          url: https://example.org/lisbon
          title: Lisbon
          quote: 21 degrees
      - text: " That is all."
  search:
    - - server_tool:
          name: web_search
          input: weather in Lisbon
          pages:
            - {{url: https://example.org/lisbon, title: Lisbon, text: 21 degrees}}
      - text: I found it.
  code:
    - - server_tool: {{name: code_execution, input: print(6 * 7), output: "42"}}
      - text: It is 42.
  file:
    - - text: Here it is.
      - file: {{media_type: image/png, data: {PIXEL}, name: dot.png}}
  usage:
    - - think: Hm.
      - text: Yes.
      - usage: {{input: 1000, output: 50, cached: 400, reasoning: 20}}
  wait:
    - - text: "One "
      - wait: 0.01
      - text: two.
  bad:
    - - fail: {{status: 400, message: max_tokens is too large}}
  key:
    - - fail: 401
  limited:
    - - fail: {{status: 429, retry_after: 7, message: Too many tokens.}}
  overloaded:
    - - fail: 529
  broken:
    - - text: It is
      - fail: {{status: 529, message: Overloaded now.}}
  cut:
    - - text: It is
      - cut: true
  stall:
    - - text: It is
      - stall: 0.05
  refuse:
    - - refuse: I will not say.
  max:
    - - text: It is 21 deg
      - max_tokens: true
  malformed:
    - - tool: {{name: get_weather, malformed: '{{"city": Lisbon}}'}}
  again:
    - - fail: {{status: 529, times: 1, retry_after: 0.01}}
      - text: At last.
"""
