"""From frames to text, tables and figures; nothing here estimates anything."""
