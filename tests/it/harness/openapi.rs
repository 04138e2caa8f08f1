//! Holds every exchange with GitHub against GitHub's published description.
