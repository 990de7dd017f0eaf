/// The server's version in the form that all clients read: three integers with dots.
///
/// Equal to the file VERSION, from which nginx's error pages are generated; `make check` compares the two.
public enum ServerRelease {
    public static let text = "1.0.0"
}
