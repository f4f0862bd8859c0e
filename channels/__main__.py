from channels.cli import main

main()
