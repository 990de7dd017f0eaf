internal import CMariaDB

/// The buffer that one column of a result is fetched into, reused from row to row.
///
/// Length and flags live in the same heap block as the number, because libmariadb keeps their addresses in its copy
/// of the binding (mysql_stmt_bind_result(3)).
@safe
final class ResultColumn {
    /// The type to which libmariadb converts the column.
    enum Kind: Equatable {
        case signed
        case unsigned
        case text

        init(_ field: MYSQL_FIELD) {
            switch unsafe field.type {
            case MYSQL_TYPE_TINY, MYSQL_TYPE_SHORT, MYSQL_TYPE_INT24, MYSQL_TYPE_LONG, MYSQL_TYPE_LONGLONG,
                MYSQL_TYPE_YEAR:
                self = unsafe field.flags & UInt32(UNSIGNED_FLAG) != 0 ? .unsigned : .signed
            default:
                self = .text
            }
        }
    }

    private struct Cell {
        var number: Int64 = 0
        var length: UInt = 0
        var isNull: my_bool = 0
        var isTruncated: my_bool = 0
    }

    /// Longer columns start with this size, and grow when a longer value arrives.
    private static let initialTextBytes = 1024
    /// Larger buffers are freed after the result.
    private static let keptTextBytes = 64 * 1024

    let kind: Kind
    /// The column's name in the result, and its table's name in the statement: the alias, if it has one.
    let name: String
    let table: String
    /// The names of both in the schema; empty for a computed column.
    let schemaName: String
    let schemaTable: String
    private let cell: UnsafeMutablePointer<Cell>
    private var text: UnsafeMutableRawBufferPointer

    init(_ field: MYSQL_FIELD) {
        kind = unsafe Kind(field)
        unsafe name = String(cString: field.name)
        unsafe table = String(cString: field.table)
        unsafe schemaName = String(cString: field.org_name)
        unsafe schemaTable = String(cString: field.org_table)
        unsafe cell = .allocate(capacity: 1)
        unsafe cell.initialize(to: Cell())
        let capacity = unsafe kind == .text ? min(max(Int(field.length), 32), Self.initialTextBytes) : 0
        unsafe text = .allocate(byteCount: capacity, alignment: 1)
    }

    deinit {
        unsafe text.deallocate()
        unsafe cell.deallocate()
    }

    /// The binding that makes libmariadb write here; valid until the buffer grows or this object is freed.
    var binding: MYSQL_BIND {
        var binding = unsafe MYSQL_BIND()
        unsafe binding.is_null = unsafe pointer(to: \.isNull)
        unsafe binding.error = unsafe pointer(to: \.isTruncated)
        unsafe binding.length = unsafe pointer(to: \.length)
        switch kind {
        case .signed, .unsigned:
            unsafe binding.buffer_type = MYSQL_TYPE_LONGLONG
            unsafe binding.buffer = unsafe UnsafeMutableRawPointer(pointer(to: \.number))
            unsafe binding.buffer_length = 8
            unsafe binding.is_unsigned = kind == .unsigned ? 1 : 0
        case .text:
            // Dates and decimals are converted to text by the library; bytes arrive unchanged.
            unsafe binding.buffer_type = MYSQL_TYPE_STRING
            unsafe binding.buffer = unsafe text.baseAddress
            unsafe binding.buffer_length = UInt(text.count)
        }
        return unsafe binding
    }

    /// Whether this column is NULL in the current row.
    var isNull: Bool { unsafe cell.pointee.isNull != 0 }

    /// Whether the current row's value is longer than the buffer, so that it was truncated.
    var needsMoreRoom: Bool { unsafe kind == .text && !isNull && Int(cell.pointee.length) > text.count }

    /// Grows the buffer for the current row's value; the column must then be bound and fetched again.
    func grow() {
        let needed = unsafe Int(cell.pointee.length)
        unsafe text.deallocate()
        unsafe text = .allocate(byteCount: max(needed, 2 * Self.initialTextBytes) * 5 / 4, alignment: 1)
    }

    /// Frees a large buffer after the result; returns whether the column must be bound again.
    func shrink() -> Bool {
        guard unsafe text.count > Self.keptTextBytes else { return false }
        unsafe text.deallocate()
        unsafe text = .allocate(byteCount: Self.initialTextBytes, alignment: 1)
        return true
    }

    /// The number; its bit pattern if unsigned.
    var number: Int64 { unsafe cell.pointee.number }

    /// The bytes of the current row's value; valid until the next fetch.
    var bytes: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: text[..<min(Int(cell.pointee.length), text.count)])
    }

    private func pointer<Member>(to member: WritableKeyPath<Cell, Member>) -> UnsafeMutablePointer<Member> {
        guard
            let pointer = unsafe UnsafeMutablePointer(mutating: UnsafePointer<Member>(unsafe cell.pointer(to: member)))
        else { preconditionFailure("a stored property has an address") }
        return unsafe pointer
    }
}
