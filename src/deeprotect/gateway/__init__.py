"""The gateway: live mediation between sensors and apps. Raw samples come in, released ones go out, nothing else."""
