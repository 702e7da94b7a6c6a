"""What a checkpoint holds, and how state gets into it and back."""
