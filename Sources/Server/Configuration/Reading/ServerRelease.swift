/// The server's version, as old and new clients read it: three integers with dots.
///
/// Equal to the file VERSION, which nginx's error pages are made from; `make check` compares the two.
public enum ServerRelease {
    public static let text = "1.0.0"
}
