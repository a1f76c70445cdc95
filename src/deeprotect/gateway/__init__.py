"""The gateway: live mediation between sensors and apps. Raw samples come in; only released ones go out."""
