/// An error of a higher layer that can stand for a ``MariaDBError``.
///
/// With it that layer's closures run inside ``Connection`` and ``ConnectionPool`` with typed throws, and the
/// translation happens in one place.
public protocol MariaDBErrorConvertible: Error {
    /// Says in the higher layer's words what the database reported.
    init(_ error: MariaDBError)
}

extension MariaDBError: MariaDBErrorConvertible {
    /// The error itself.
    public init(_ error: MariaDBError) { self = error }
}
