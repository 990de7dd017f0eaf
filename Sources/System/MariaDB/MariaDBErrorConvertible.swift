/// An error of a higher layer that can represent a ``MariaDBError``.
///
/// It lets that layer's closures run inside ``Connection`` and ``ConnectionPool`` with typed throws, and the
/// translation happens in one place.
public protocol MariaDBErrorConvertible: Error {
    /// Converts the database's error to the higher layer's error.
    init(_ error: MariaDBError)
}

extension MariaDBError: MariaDBErrorConvertible {
    /// The error itself.
    public init(_ error: MariaDBError) { self = error }
}
